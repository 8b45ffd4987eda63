"""Everything that a person looks at: terminal, pages, figures, notebook. The report gathers and tells."""
