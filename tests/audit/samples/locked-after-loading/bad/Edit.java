class Edit {
    void edit(long id, String title) {
        Page page = pages.findById(id).orElseThrow();
        lockService.acquire("page", id);
        page.setTitle(title);
        pages.save(page);
    }

    void redisson(long id, String title) {
        RLock lock = redisson.getLock("page:" + id);
        Page page = pages.findById(id).orElseThrow();
        lock.lock();
        page.setTitle(title);
        pages.save(page);
        lock.unlock();
    }
}
