class Save {
    void save(Page page, String body) {
        int rows = jdbc.update("UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?", body, page.getId(), page.getVersion());
        if (rows != 1) {
            Integer now = jdbc.queryForObject("SELECT version FROM page WHERE id = ?", Integer.class, page.getId());
            throw new Conflict(now);
        }
    }
}
