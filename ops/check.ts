// `npm run check`: all that can be said about the tree without running the product.
import { resolve } from 'node:path'
import { runStep, steps } from './steps.ts'
import { runTests } from './test-run.ts'

const houseRules = ['test/architecture.test.ts', 'test/errors-documented.test.ts'].map((file) =>
  resolve(file),
)

let green = true
for (const step of steps) green = (await runStep(step)) && green
green = (await runTests({ files: houseRules, namePatterns: [], timeout: 60_000, deadline: 120_000 })) && green
process.exit(green ? 0 : 1)
