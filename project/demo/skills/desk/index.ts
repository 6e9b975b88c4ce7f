import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineSkill, z } from 'trivium'

/** What is said to what, the first that fits. In a shop of your own a model would answer here, or somebody's API. */
const ANSWERS: readonly [RegExp, (order: string) => string][] = [
  [
    /cancel/i,
    (order) => `Order ${order} had not left us yet and is cancelled. Your money is back within three days.`,
  ],
  [
    /noise|stopped|gasket/i,
    () =>
      'Please take the tank out, fill it to the line and run it twice without coffee. If it still does that, we send a new gasket, free of charge.',
  ],
  [
    /bestellung|großartig/i,
    (order) => `Gerne! Bestellung ${order} ist geändert und geht morgen früh aus dem Haus.`,
  ],
  [/注文/, (order) => `承知いたしました。注文 ${order} のお届け先を変更いたしました。`],
  [/consulta|perfecto/i, () => '¡Hola! Vuelve a estar disponible desde el jueves. Le reservamos uno.'],
  [
    /wholesale|tuesday/i,
    () =>
      'Thank you for the long letter! Yes to all five: weekly, until noon of the day before; prices are fixed for a quarter; two baristas are welcome on any Wednesday. We come by with six coffees on Tuesday at three.',
  ],
  [
    /how many|refunds|returns/i,
    () => '*418* orders, 12 more than on the same day last week. 9 refunds, 3 of them still open.',
  ],
  [/on call/i, () => 'Aiko until 22:00, then Sam.'],
  [
    /slow|changed since/i,
    () =>
      'Payments answer in 80 ms, so it is not them. 2.16.4 went out at 09:12 and touched the address form.',
  ],
  [/stock|available|recommend/i, () => 'Yes, we have 14 of them. Ordered before four it leaves today.'],
  [
    /how long|delivery|roast/i,
    () => 'Two to three days, with tracking. We roast on Mondays and Thursdays, medium.',
  ],
  [/wysył/i, () => 'Tak! Do Polski wysyłamy w 3 dni, od 50 € za darmo.'],
  [/قهوة/, () => 'نعم، وصلت قهوة حراز هذا الأسبوع.'],
  [
    /where|order/i,
    (order) =>
      `Order ${order} left our roastery yesterday and is with the courier. It should arrive tomorrow before noon.`,
  ],
]

/** Made once the day is over: from then on it takes as long as a model would. */
const LIVE = new URL('../../live', import.meta.url)

export default defineSkill({
  name: 'desk',
  description: 'Answers customers and colleagues.',
  args: z.object({ text: z.string(), subject: z.string().default('') }),
  metadata: { session: 'args.sessionId' },
  async run({ args: { text, subject }, signal }) {
    if (existsSync(LIVE)) await wait(300 + 12 * text.length, undefined, { signal })
    // One that thanks wants no answer.
    if (
      /thank|thx|danke|gracias|شكرا|dziękuję|arrived|came this morning|tasty|tada|ordered 🎉|👍|🙏/i.test(
        text,
      ) &&
      text.length < 120
    )
      return
    const asked = `${subject}\n${text}`
    const [, order = 'of yours'] = /\b(4\d{4})\b/.exec(asked) ?? []
    const answer = ANSWERS.find(([sign]) => sign.test(asked))?.[1]
    return answer?.(order) ?? 'Somebody of our team looks at it and writes to you today.'
  },
})
