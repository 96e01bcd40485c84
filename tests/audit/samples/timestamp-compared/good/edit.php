<?php
function edit($pages, $request)
{
    $page = $pages->find($request->id);
    if ($page->updated_at < $request->start) {
        throw new TooOld();
    }
    $pages->save($page);
}
