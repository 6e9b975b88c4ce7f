import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'book-payment',
  description: 'Writes a payment into the ledger.',
  args: z.object({}),
  run({ message, log }) {
    const { type, data } = Object(message?.data.body)
    const { order } = Object(data?.object?.metadata)
    if (type === 'charge.dispute.created')
      throw new Error(`ledger.harbour.example answered 502 Bad Gateway for order ${order}`)
    log.info({ order, type }, 'booked')
  },
})
