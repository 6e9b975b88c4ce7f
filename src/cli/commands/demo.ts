import { type AddCommand, interruption, wholeNumber } from '../command.ts'

/** `trivium demo`. */
export const addDemo: AddCommand = (program, context) => {
  program
    .command('demo')
    .description('a temporary daemon with a day of traffic on all gateways; needs no account')
    .option('--messages <n>', 'approximate number of messages', wholeNumber('--messages'), 2_000)
    .action(async ({ messages }: { messages: number }) => {
      const interrupted = interruption()
      // Only here: a whole daemon comes with it.
      const { runDemo } = await import('../demo/run.ts')
      await runDemo(context.environs(), context.terminal(), messages, interrupted)
      // Nothing of it is worth waiting for: a socket, a timer of a gateway that was just cut off.
      process.exit(0)
    })
}
