<?php
function save($pdo, $id, $balance, $version)
{
    $stmt = $pdo->prepare('UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?');
    $stmt->execute([$balance, $id, $version]);
    if ($stmt->rowCount() !== 1) {
        throw new Conflict();
    }
}
