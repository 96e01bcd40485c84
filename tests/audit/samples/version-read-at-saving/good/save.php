<?php
function save($db, $id, $body)
{
    $read = $db->prepare('SELECT version FROM page WHERE id = ?');
    $read->execute([$id]);
    if ($read->fetchColumn() !== (int) $_POST['version']) {
        return false;
    }
    $save = $db->prepare('UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?');
    $save->execute([$body, $id, $_POST['version']]);
    return $save->rowCount() === 1;
}
