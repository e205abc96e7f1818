"""One module a revision; `tollens.store.schema.REVISIONS` lists them in order."""
