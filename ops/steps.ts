import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import type { Failed } from './tests/failed.ts'

/** A check of the whole tree. */
export type Step = { name: string; command: string; args: string[] }

/** Format and lint, types, unused code. */
export const steps: Step[] = [
  { name: 'biome', command: 'biome', args: ['check', '--error-on-warnings'] },
  // Files that have not changed since the last check are not checked again, but their errors are
  // repeated.
  {
    name: 'types',
    command: 'tsc',
    args: [
      '--noEmit',
      '-p',
      '.',
      '--incremental',
      '--tsBuildInfoFile',
      'node_modules/.cache/types.tsbuildinfo',
    ],
  },
  { name: 'knip', command: 'knip', args: ['--no-progress', '--no-config-hints'] },
]

/**
 * Runs a step. Prints a line if it succeeds, and its output if it fails. Resolves with the failure.
 */
export async function runStep({ name, command, args }: Step): Promise<Failed[]> {
  const began = performance.now()
  const { status, output } = await run(`node_modules/.bin/${command}`, args)
  const took = `${((performance.now() - began) / 1000).toFixed(1)} s`
  if (status === 0) {
    console.log(`✔ ${name} (${took})`)
    return []
  }
  console.log(`✖ ${name} (${took})\n${output.trim()}\n`)
  return [{ name, failures: [output.trim()], output: '' }]
}

function run(file: string, args: string[]): Promise<{ status: number; output: string }> {
  if (!existsSync(file)) return Promise.resolve({ status: 1, output: `${file} is missing: run npm install.` })
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.on('error', (error) => resolve({ status: 1, output: error.message }))
    child.on('close', (code) => resolve({ status: code ?? 1, output: Buffer.concat(chunks).toString() }))
  })
}
