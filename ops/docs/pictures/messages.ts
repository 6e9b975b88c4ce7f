import { arrow, box, dashed, picture, text } from './svg.ts'

/** From a gateway into the store, and from there along the three roads. */
export function roads(): string {
  return picture(
    {
      width: 440,
      height: 372,
      title: 'The way of a message',
      description:
        'A gateway stores a message before it acknowledges it to the sender. From the store, three roads read it: dispatch runs the first matching route and sends a reply, receive gives it to one worker, events show it to every consumer group.',
    },
    [
      box([130, 14], [180, 44], 'outside', 'Sender', 'email, Slack, webhook, …'),
      arrow([190, 58], [190, 96]),
      text([152, 82], 'message', 'small'),
      dashed([250, 96], [250, 58]),
      text([322, 82], '2xx, once it is stored', 'small'),
      box([130, 98], [180, 32], 'step', 'Gateway'),
      arrow([220, 130], [220, 154]),
      box([130, 156], [180, 44], 'store', 'Journal', 'in the store, in order'),
      arrow([160, 200], [160, 216], [76, 216], [76, 238]),
      arrow([220, 200], [220, 238]),
      arrow([280, 200], [280, 216], [364, 216], [364, 238]),
      box([10, 240], [132, 44], 'step', 'dispatch', 'first matching route'),
      box([154, 240], [132, 44], 'step', 'receive', 'gateway-receive'),
      box([298, 240], [132, 44], 'step', 'events', 'gateway-message'),
      arrow([76, 284], [76, 312]),
      arrow([220, 284], [220, 312]),
      arrow([364, 284], [364, 312]),
      box([10, 314], [132, 44], 'good', 'Reply', 'of a skill'),
      box([154, 314], [132, 44], 'good', 'One worker', 'takes it'),
      box([298, 314], [132, 44], 'good', 'Every group', 'sees it'),
    ],
  )
}

/** Two conversations, each in order, beside each other. */
export function conversations(): string {
  const row = (y: number, name: string, ids: readonly string[], starts: readonly number[], width: number) => [
    text([14, y + 21], name, 'left'),
    ...ids.map((id, index) => box([starts[index] ?? 0, y], [width, 32], 'step', id)),
  ]
  return picture(
    {
      width: 440,
      height: 150,
      title: 'Conversations',
      description:
        'In conversation A, the messages a1, a2 and a3 run one after the other. The messages b1 and b2 of conversation B run at the same time as those of A, also one after the other.',
    },
    [
      ...row(16, 'Conversation A', ['a1', 'a2', 'a3'], [126, 226, 326], 88),
      arrow([214, 32], [225, 32]),
      arrow([314, 32], [325, 32]),
      ...row(64, 'Conversation B', ['b1', 'b2'], [126, 276], 138),
      arrow([264, 80], [275, 80]),
      arrow([126, 118], [414, 118]),
      text([270, 138], 'time', 'small'),
    ],
  )
}
