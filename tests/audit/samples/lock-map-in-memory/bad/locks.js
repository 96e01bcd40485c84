const documentLocks = new Map();
