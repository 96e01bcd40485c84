class PagesController
  def update
    page = Page.find(params[:id])
    raise Conflict unless page.lock_version == params[:lock_version].to_i
    page.update(body: params[:body])
  end

  def latest(pages)
    pages.sort { |a, b| a.updated_at <=> b.updated_at }
  end
end
