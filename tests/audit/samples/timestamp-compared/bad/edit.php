<?php
function edit($pages, $request)
{
    $page = $pages->find($request->id);
    if ($page->updated_at !== $request->updated_at) {
        throw new Conflict();
    }
    $pages->save($page);
}
