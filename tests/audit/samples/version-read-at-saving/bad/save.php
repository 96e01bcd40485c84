<?php
function save($db, $id, $body)
{
    $read = $db->prepare('SELECT version FROM page WHERE id = ?');
    $read->execute([$id]);
    $now = $read->fetchColumn();
    $save = $db->prepare('UPDATE page SET body = ?, version = version + 1 WHERE id = ? AND version = ?');
    $save->execute([$body, $id, $now]);
    return $save->rowCount() === 1;
}
