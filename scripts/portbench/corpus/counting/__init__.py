"""Counts how often functions of frameworks are called in a corpus of Python source.

corpus.py        what is to be read: folders, archives, tables; cut into parts, the units of work
import_filter.py which files import a framework
lexer.py         source without comments and what stands in strings
identifiers.py   calls as the study counted them: by the called word alone
imports.py       what an import statement binds
scopes.py        which binding of a name a place in a file sees
resolver.py      calls as Python would look them up: through imports, aliases and scopes
function_list.py the names to count
source_file.py   all of this for one file
part_counts.py   sums over a part of a corpus
pool.py          worker processes, one file's death kept apart
journal.py       which parts are done
engines.py       local processes, or a Ray cluster
counts.py        the document that comes of it
"""
