const locks = new Map();
