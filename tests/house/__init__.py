"""How the project is built: names, sizes, and where a declaration goes, held against the sources themselves."""
