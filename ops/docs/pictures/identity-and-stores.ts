import { arrow, border, box, dashed, picture, text } from './svg.ts'

/** From what a sender claims to what they may run. */
export function identity(): string {
  return picture(
    {
      width: 440,
      height: 342,
      title: 'Identity and access',
      description:
        'A gateway verifies the sender of a message. A verified sender has an identity, such as support:ada@example.com, and the roles that list it. Other senders are unverified, and only rules for everyone apply to them. If a role allows the skill, it runs; otherwise the message becomes a dead letter.',
    },
    [
      box([130, 14], [180, 44], 'outside', 'Message', 'from ada@example.com'),
      arrow([220, 58], [220, 80]),
      box([130, 82], [180, 44], 'step', 'Gateway support', 'checks DKIM, SPF, DMARC'),
      arrow([170, 126], [170, 136], [112, 136], [112, 160]),
      text([72, 148], 'verified', 'small'),
      dashed([270, 126], [270, 136], [328, 136], [328, 160]),
      text([382, 148], 'unverified', 'small'),
      box([14, 162], [200, 44], 'store', 'Identity', 'support:ada@example.com'),
      box([226, 162], [200, 44], 'outside', 'No identity', 'only rules for * apply'),
      arrow([112, 206], [112, 220], [200, 220], [200, 236]),
      dashed([328, 206], [328, 220], [240, 220], [240, 236]),
      box([110, 238], [220, 30], 'step', 'Does a role allow the skill?'),
      arrow([170, 268], [170, 278], [112, 278], [112, 298]),
      arrow([270, 268], [270, 278], [328, 278], [328, 298]),
      text([90, 290], 'yes', 'small'),
      text([348, 290], 'no', 'small'),
      box([14, 300], [200, 30], 'good', 'The skill runs'),
      box([226, 300], [200, 30], 'bad', 'Dead letter'),
    ],
  )
}

/** One daemon with its own file, or several on one Redis. */
export function stores(): string {
  return picture(
    {
      width: 440,
      height: 236,
      title: 'Stores',
      description:
        'The embedded store is a SQLite file on the disk of the only daemon. With Redis, any number of daemons on several machines share the work.',
    },
    [
      text([104, 26], 'Embedded', 'strong'),
      text([314, 26], 'Redis', 'strong'),
      border([196, 20], [196, 214]),
      box([44, 44], [120, 44], 'step', 'Daemon', 'the only one'),
      arrow([104, 88], [104, 138]),
      box([34, 140], [140, 44], 'store', 'SQLite file', 'data directory'),
      text([104, 210], 'one machine', 'small'),
      box([212, 44], [66, 44], 'step', 'Daemon'),
      box([283, 44], [66, 44], 'step', 'Daemon'),
      box([354, 44], [76, 44], 'step', 'Daemon …'),
      arrow([245, 88], [245, 112], [290, 112], [290, 138]),
      arrow([316, 88], [316, 138]),
      arrow([390, 88], [390, 112], [342, 112], [342, 138]),
      box([246, 140], [140, 44], 'store', 'Redis', 'server or Cluster'),
      text([316, 210], 'several machines, with failover', 'small'),
    ],
  )
}
