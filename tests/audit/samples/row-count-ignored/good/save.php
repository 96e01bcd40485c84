<?php
function save($pdo, $row) {
    $stmt = $pdo->prepare("UPDATE account SET balance = ?, version = version + 1 WHERE id = ? AND version = ?");
    $stmt->execute($row);
    return $stmt->rowCount() === 1;
}
