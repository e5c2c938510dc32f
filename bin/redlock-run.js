#!/usr/bin/env node
require('../dist/redlock-run.js');
