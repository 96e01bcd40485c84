class Editor
  def edit(id, title)
    locks.acquire("page", id)
    page = Page.find(id)
    page.title = title
    page.save
  end

  def reloaded(id, title)
    page = Page.find(id)
    page.with_lock do
      page.title = title
      page.save
    end
  end
end
