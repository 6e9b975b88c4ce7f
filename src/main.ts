import { main } from './cli/program.ts'

// Who reads may go away (`| head`). A daemon goes on without them; a command has nobody left to work for.
process.stderr.on('error', () => {})
process.stdout.on('error', () => {
  if (!process.argv.includes('start')) process.exit()
})

process.exitCode = await main(process.argv.slice(2))
// What a failed command left open, such as a connection to Redis, must not keep the process; who still reads, such as a pager, does.
process.stdout.write('', () => setTimeout(() => process.exit(), 1000).unref())
