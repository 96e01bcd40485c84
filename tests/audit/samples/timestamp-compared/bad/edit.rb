class PagesController
  def update
    page = Page.find(params[:id])
    raise Conflict unless page.updated_at.to_i == params[:updated_at].to_i
    page.update(body: params[:body])
  end
end
