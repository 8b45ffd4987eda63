"""Sound: WAV files, archives and folders of them, what their names tell, and the log-mel frames that models read."""
