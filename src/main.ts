import { main } from './cli/program.ts'

// Who reads may go away (`| head`). A daemon goes on without them; a command has nobody left to work for.
process.stderr.on('error', () => {})
process.stdout.on('error', () => {
  if (!process.argv.includes('start')) process.exit()
})

process.exitCode = await main(process.argv.slice(2))
