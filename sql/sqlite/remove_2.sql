-- Version 1 had no tokens: a table of that name is someone else's then, and this is to be left out.
DROP TABLE IF EXISTS {ns}_token;
