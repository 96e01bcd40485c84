def newest(pages):
    return [page for page in pages if page.updated_at > page.created_at]


def take_over(remote, page):
    if remote.updated_at > page.updated_at:
        page.body = remote.body
        page.save()


def show(page, request):
    if page.updated_at <= request.last_modified:
        raise NotModified()
    return page.body


def checked(page, request):
    if page.updated_at is None:
        raise Broken(page)
    page.save()
