class Edit {
    void edit(PageDto dto) {
        Page page = pages.findById(dto.getId()).orElseThrow();
        if (!page.getUpdatedAt().equals(dto.getUpdatedAt())) {
            throw new Conflict();
        }
        page.setBody(dto.getBody());
        pages.save(page);
    }
}
