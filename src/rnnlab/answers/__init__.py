"""The shapes of an answer (label, tags, number): head, loss, counts, scores, decoding, baselines. No other room but
`tasks` names one."""
