class Edit {
    void edit(long id, String title) {
        lockService.acquire("page", id);
        Page page = pages.findById(id).orElseThrow();
        page.setTitle(title);
        pages.save(page);
    }

    void again(long id, String title) {
        Page page = pages.findById(id).orElseThrow();
        lockService.acquire("page", page.getId());
        page = pages.findById(id).orElseThrow();
        page.setTitle(title);
        pages.save(page);
    }

    void other(long id, String title) {
        User user = users.findById(id).orElseThrow();
        lockService.acquire("page", user.getPage());
        pages.save(new Page(title));
    }

    void versioned(long id, long balance) {
        Account account = accounts.findById(id).orElseThrow();
        lockService.acquire("account", id);
        account.setBalance(balance);
        accounts.save(account);
    }

    void create(long id, String title) {
        Page page = pages.findById(id).orElse(null);
        if (page == null) {
            lockService.acquire("page", id);
            page = new Page(title);
            pages.save(page);
        }
    }
}
