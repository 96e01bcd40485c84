<?php
function edit($pages, $locks, $id, $title)
{
    $page = $pages->find($id);
    $locks->acquire('page', $id);
    $page->setTitle($title);
    $pages->save($page);
}
