import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'refund',
  description: 'Pays a customer back.',
  args: z.object({ text: z.string(), subject: z.string().default('') }),
  run({ args: { text, subject } }) {
    const [amount = 'The money'] = /€[\d.]+/.exec(text) ?? []
    const [order = ''] = /\b4\d{4}\b/.exec(subject) ?? []
    return `We are sorry for the trouble with order ${order}. ${amount} is on its way back to your card; banks take up to three days.`
  },
})
