<?php
function edit($pages, $locks, $id, $title)
{
    $locks->acquire('page', $id);
    $page = $pages->find($id);
    $page->setTitle($title);
    $pages->save($page);
}
