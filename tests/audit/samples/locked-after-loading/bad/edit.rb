class Editor
  def edit(id, title)
    page = Page.find(id)
    locks.acquire("page", id)
    page.title = title
    page.save
  end
end
