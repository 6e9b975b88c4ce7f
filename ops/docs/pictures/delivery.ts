import { arrow, box, dashed, picture, text } from './svg.ts'

/** A topic that two groups read, one of them with two programs. */
export function consumerGroups(): string {
  return picture(
    {
      width: 440,
      height: 256,
      title: 'Consumer groups',
      description:
        'Every consumer group sees every event of a topic. The programs of one group share its events: program 1 gets e1 and e3, program 2 gets e2 and e4.',
    },
    [
      box([70, 14], [300, 44], 'store', 'Topic gateway-message', 'e1  e2  e3  e4'),
      arrow([130, 58], [130, 92]),
      arrow([310, 58], [310, 92]),
      text([220, 80], 'each group gets all', 'small'),
      box([50, 94], [160, 44], 'step', 'Group audit', 'its own position'),
      box([230, 94], [160, 44], 'step', 'Group crm', 'its own position'),
      arrow([130, 138], [130, 194]),
      arrow([270, 138], [270, 194]),
      arrow([350, 138], [350, 194]),
      text([310, 170], 'shared', 'small'),
      box([70, 196], [120, 44], 'good', 'One program', 'e1 e2 e3 e4'),
      box([214, 196], [100, 44], 'good', 'Program 1', 'e1 e3'),
      box([326, 196], [100, 44], 'good', 'Program 2', 'e2 e4'),
    ],
  )
}

/** From attempt to attempt, and into the dead letters. */
export function deadLetters(): string {
  return picture(
    {
      width: 440,
      height: 258,
      title: 'Attempts and dead letters',
      description:
        'An attempt succeeds, or fails. After a failure that may pass, the next attempt follows a pause. After the last attempt, and after a permanent failure, the work becomes a dead letter, which a person retries or drops.',
    },
    [
      box([14, 20], [124, 44], 'step', 'Attempt', 'to run or to send'),
      arrow([138, 42], [312, 42]),
      text([225, 35], 'succeeds', 'small'),
      box([314, 20], [112, 44], 'good', 'Done'),
      arrow([52, 64], [52, 104]),
      text([36, 88], 'fails', 'small'),
      box([14, 106], [124, 44], 'outside', 'Pause', 'longer each time'),
      dashed([98, 106], [98, 66]),
      text([122, 88], 'next', 'small'),
      arrow([138, 128], [176, 128], [176, 186]),
      text([190, 126], 'after the last attempt, or immediately', 'small left'),
      text([190, 143], 'if the failure is permanent', 'small left'),
      box([130, 188], [124, 54], 'bad', 'Dead letter', 'with all errors'),
      dashed([130, 215], [30, 215], [30, 152]),
      text([78, 232], 'retried', 'small'),
      dashed([254, 215], [302, 215]),
      text([310, 219], 'dropped by a person', 'small left'),
    ],
  )
}
