#!/usr/bin/env node
require('../dist/ctl.js');
