"""The dashboard of `tollens serve`: pages, JSON and metrics of the store of a monitor.

    settings    what was asked for, checked before anything listens
    access      tokens, sessions, and how often a wrong token may be tried
    guard       what every request passes: host, origin, size, rights; headers of every answer
    views       what the pages show, read from the store
    pages, api  the answers, as HTML and as JSON
    connections which of them are closed where there are too many, or at the end
    app, run    all of it put together, and listening

It needs the extra `server`. Nothing of it is loaded by `import tollens`.
"""
