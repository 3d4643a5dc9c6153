"""Counts how often functions of frameworks are called in a corpus of Python source.

The modules, from one file to the whole corpus:

function_list.py the names to count
import_filter.py which files import a framework
lexer.py         source without comments and without the contents of strings
syntax.py        Python's grammar, and questions about a node of a file's tree
identifiers.py   calls as the paper of 2023 counted them: by the called word alone
imports.py       what an import statement binds
scopes.py        which binding of a name is visible at a place in a file
resolver.py      calls as Python looks them up: through imports, aliases and scopes
source_file.py   all of this for one file
corpus.py        the parts of a corpus, the units of work: of folders, archives, tables
documents.py     the documents of one part
part_counts.py   the counts of one part, and sums of counts
pool.py          counts parts in worker processes; a document that kills its worker is left out
ray_engine.py    counts parts on a Ray cluster
journal.py       which parts are counted, so that a count can be resumed
count.py         one count of a corpus, with all of this
counts.py        the resulting document, and the sum of several shards
progress.py      the progress bar
terminal.py      counts for people
"""
