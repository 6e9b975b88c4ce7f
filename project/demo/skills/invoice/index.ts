import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'invoice',
  description: 'Sends an invoice again.',
  args: z.object({ subject: z.string().default('') }),
  run({ args: { subject }, log }) {
    const [order = '0'] = /\b4\d{4}\b/.exec(subject) ?? []
    log.info({ order }, 'looking in the archive')
    // The archive of last year is out of order.
    if (Number(order) % 3 === 0)
      throw new Error(`the invoice archive did not answer within 10 s (order ${order})`)
    return `Please find the invoice of order ${order} in your account, under Orders.`
  },
})
