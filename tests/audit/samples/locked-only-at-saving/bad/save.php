<?php
function save($db, $locks, $id)
{
    $locks->acquire('invoice', $id);
    $statement = $db->prepare('UPDATE invoice SET body = ? WHERE id = ?');
    $statement->execute([$_POST['body'], $id]);
}
