def edit(request, id):
    page = Page.objects.get(pk=id)
    if page.updated_at != request.data["updated_at"]:
        raise Conflict(id)
    page.body = request.data["body"]
    page.save()
