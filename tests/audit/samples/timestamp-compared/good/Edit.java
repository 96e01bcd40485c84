class Edit {
    void edit(PageDto dto) {
        Page page = pages.findById(dto.getId()).orElseThrow();
        if (page.getRevision() != dto.getRevision()) {
            throw new Conflict();
        }
        page.setUpdatedAt(now());
        pages.save(page);
    }
}
