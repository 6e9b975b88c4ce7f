import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineSkill, z } from 'trivium'

/** Questions and answers; the first match wins. In a real shop, a model or an API would answer here. */
const ANSWERS: readonly [RegExp, (order: string) => string][] = [
  [
    /cancel/i,
    (order) => `Order ${order} had not left us yet and is cancelled. Your money is back within three days.`,
  ],
  [
    /tried that/i,
    () =>
      'Then it is the gasket. A new one leaves today, free of charge, with a picture of how to change it.',
  ],
  [
    /noise/i,
    () =>
      'That is covered by the warranty. Please take the tank out, fill it to the line and run it twice without coffee. If it goes on, write to us once more.',
  ],
  [/Mahlung/, (order) => `Gerne! Bestellung ${order} ist geändert und geht morgen früh aus dem Haus.`],
  [/注文番号/, (order) => `承知いたしました。注文 ${order} のお届け先を変更いたしました。`],
  [/podrían/i, () => '¡Hola! Vuelve a estar disponible desde el jueves. Le reservamos uno.'],
  [
    /looking for a roaster/i,
    () =>
      'Thank you for the long letter! Yes to all five: weekly, until noon of the day before; prices are fixed for a quarter; two baristas are welcome on any Wednesday. We come by with six coffees on Tuesday at three.',
  ],
  [/suits us/i, () => 'Tuesday at three it is. We look forward to it.'],
  [
    /news on my refund/i,
    () =>
      'We have your request. Once a colleague has approved it, the money is with your bank within three days.',
  ],
  [/how many orders/i, () => '*418* orders, 12 more than on the same day last week.'],
  [/^and refunds/i, () => '9 refunds, 3 of them still wait for an approval.'],
  [/^and of those/i, () => '31 of them, most to one office.'],
  [/^and returns/i, () => '6 returns, 4 of them grinders.'],
  [/on call/i, () => 'Aiko until 22:00, then Sam.'],
  [
    /checkout is/i,
    () => 'Payments answer in 80 ms, so it is not them. The address lookup takes 3 s since 09:12.',
  ],
  [/what changed/i, () => '2.16.4 went out at 09:12 and touched the address form. Nothing else.'],
  [/^what is in stock/i, () => '14, and 6 of these are reserved.'],
  [/^order \d+ more/i, () => 'Ordered. They arrive on Thursday.'],
  [/write that to|send them the/i, () => 'Done: the customer has a mail with the tracking link.'],
  [/change the address/i, () => 'The courier has it already. The link in your tracking mail redirects it.'],
  [
    /neighbour|leave it with|at home tomorrow/i,
    () => 'The courier knows, and sends you a message an hour before.',
  ],
  [/in stock|available/i, () => 'Yes, we have 14 of them. Ordered before four it leaves today.'],
  [/how long/i, () => 'Two to three days, with tracking.'],
  [/recommend/i, () => 'Our Kochere, roasted on Monday. If you like it darker, take the Harbour blend.'],
  [/how dark/i, () => 'Medium. We roast on Mondays and Thursdays.'],
  [/wysył/i, () => 'Tak! Do Polski wysyłamy w 3 dni, od 50 € za darmo.'],
  [/قهوة/, () => 'نعم، وصلت قهوة حراز هذا الأسبوع.'],
  [
    /where (is|order)/i,
    (order) =>
      `Order ${order} left our roastery yesterday and is with the courier. It should arrive tomorrow before noon.`,
  ],
]
/** Thanks, and messages that all is well, get no answer. */
const NO_QUESTION =
  /thank|thx|dank|gracias|شكرا|dziękuję|arrived|came this morning|tasty|think about it|did it|🎉|👍|🙏/i

/** Set once the day is over: from then on it takes as long as a model would. */
const LIVE = new URL('../../live', import.meta.url)

export default defineSkill({
  name: 'desk',
  description: 'Answers customers and colleagues.',
  args: z.object({ text: z.string(), subject: z.string().default('') }),
  metadata: { session: 'args.sessionId', annotations: { readOnlyHint: true } },
  async run({ args: { text, subject }, signal }) {
    if (existsSync(LIVE)) await wait(300 + 12 * text.length, undefined, { signal })
    const answer = ANSWERS.find(([sign]) => sign.test(text))?.[1]
    if (!answer && NO_QUESTION.test(text)) return
    const [, order = 'of yours'] = /\b(4\d{4})\b/.exec(`${subject}\n${text}`) ?? []
    return answer?.(order) ?? 'Somebody of our team looks at it and writes to you today.'
  },
})
