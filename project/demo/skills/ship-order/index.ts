import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'ship-order',
  description: 'Tells the carrier of an order.',
  args: z.object({}),
  run({ message, log }) {
    const { event, order, customer } = Object(message?.data.body)
    if (customer?.street === '')
      throw new Error(`the carrier takes no parcel for order ${order}: its address has no street`)
    log.info({ order, event }, 'the carrier knows')
  },
})
