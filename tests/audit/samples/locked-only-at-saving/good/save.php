<?php
function save($db, $locks, $id)
{
    $locks->acquire('invoice', $id);
    $statement = $db->prepare('SELECT title FROM invoice WHERE id = ?');
    $statement->execute([$id]);
    if ($statement->fetchColumn() !== $_POST['title_before']) {
        return false;
    }
    $statement = $db->prepare('UPDATE invoice SET body = ? WHERE id = ?');
    return $statement->execute([$_POST['body'], $id]);
}
