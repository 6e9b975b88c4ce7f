// Try it while the daemon runs; a saved change takes effect at once:
//   npx trivium hello --text Ada             the skill alone
//   npx trivium message cli "hello Ada"      as a message, by the route below
import { defineSkill, z } from 'trivium'

export default defineSkill({
  name: 'hello',
  description: 'Says what it was told.',
  args: z.object({ text: z.string().default('').describe('The text of the message') }),
  // Which messages it answers; a route in routes.yaml may name it as well.
  metadata: { cli: { route: { prefix: 'hello' } } },
  async run(ctx) {
    return `You said: ${ctx.args.text}`
  },
})
