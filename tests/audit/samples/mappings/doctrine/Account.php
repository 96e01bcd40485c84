<?php
#[ORM\Entity]
#[ORM\Table(name: 'account')]
class Account
{
    #[ORM\Id]
    #[ORM\Column(type: 'integer')]
    private int $id;

    #[ORM\Version]
    #[ORM\Column(type: 'integer')]
    private int $version;
}

/**
 * @ORM\Entity
 * @ORM\Table(name="letter")
 */
class Letter
{
    /** @ORM\Id @ORM\Column(type="integer") */
    private $id;

    /** @ORM\Version @ORM\Column(name="lock_no", type="integer") */
    private $version;
}
